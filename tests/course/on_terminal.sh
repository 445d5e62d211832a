# on_terminal SIZE STEPS COMMAND...: leads a command through steps of on_terminal.c, one a line or with "; " between them.
on_terminal() {
    size=$1
    printf '%s\n' "$2" | sed 's/; /\n/g' >script.txt
    shift 2
    "$ON_TERMINAL" script.txt $size "$@"
}
