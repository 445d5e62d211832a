# What a student writes: the regions between `// [student: NAME]` and `// [/student]` of a kernel file.

# inside_of(OUT TEXT REGION): what stands between the marks of a region; where it begins and ends in OUT_begin, OUT_end.
function(inside_of out text region)
    set(mark "// [student: ${region}]\n")
    string(FIND "${text}" "${mark}" begin)
    if(begin LESS 0)
        message(FATAL_ERROR "there is no region ${region}")
    endif()
    string(LENGTH "${mark}" length)
    math(EXPR begin "${begin} + ${length}")
    string(SUBSTRING "${text}" ${begin} -1 rest)
    string(FIND "${rest}" "// [/student]" length)
    string(SUBSTRING "${rest}" 0 ${length} inside)
    math(EXPR end "${begin} + ${length}")
    set(${out} "${inside}" PARENT_SCOPE)
    set(${out}_begin ${begin} PARENT_SCOPE)
    set(${out}_end ${end} PARENT_SCOPE)
endfunction()

# fill_region(KERNEL SOLUTION REGION): the region of the text in the variable KERNEL becomes what the text in the variable SOLUTION has there.
function(fill_region into_ from_ region)
    inside_of(written "${${from_}}" ${region})
    inside_of(open "${${into_}}" ${region})
    string(SUBSTRING "${${into_}}" 0 ${open_begin} before)
    string(SUBSTRING "${${into_}}" ${open_end} -1 after)
    set(${into_} "${before}${written}${after}" PARENT_SCOPE)
endfunction()
