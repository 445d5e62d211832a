#include "../simt/thrust/all.h"
