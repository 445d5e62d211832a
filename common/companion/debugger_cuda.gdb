# Words for cuda-gdb, the same as debugger.py has for gdb on the software device; loaded by `warpwise debug --device gpu`.
set confirm off
set pagination off
define lane
cuda lane $arg0
end
define block
cuda block $arg0
end
define thread
cuda thread $arg0
end
define at
tbreak $arg0
continue
end
define lanes
info cuda lanes
end
define shared
print $arg0
end
