#include "../../simt/cub/device.h"
