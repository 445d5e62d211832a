#include "driver_types.h" // for programs that include it by this name
