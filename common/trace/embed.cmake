# Writes the viewer's files into a file of C.
#   FILES (viewer.js;viewer.css), SOURCE, OUTPUT
cmake_minimum_required(VERSION 3.25)
set(text "#include \"trace/viewer.h\"\n")
foreach(file IN LISTS FILES)
    file(READ ${SOURCE}/${file} bytes HEX)
    string(REPLACE "." "_" name trace_${file})
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "const unsigned char ${name}[] = {${bytes}};\nconst size_t ${name}_bytes = sizeof ${name};\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
