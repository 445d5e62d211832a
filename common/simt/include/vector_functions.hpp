#include "vector_functions.h" // for programs that include it by this name
