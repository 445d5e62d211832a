// Before anything is drawn: the reader's choice of dark or light, if there is one.
try {
    const theme = localStorage.getItem("theme");
    if (theme) document.documentElement.dataset.theme = theme;
} catch (error) { /* no storage: the system's choice */ }
