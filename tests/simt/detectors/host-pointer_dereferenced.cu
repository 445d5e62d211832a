// expect: host-pointer at line 8
/** The host writes to device memory through the device's pointer. */
#include "detecting.h"

int main(void)
{
    float *data = device_array<float>(32);
    data[0] = 1.0f; // here
    release(data);
    return 0;
}
