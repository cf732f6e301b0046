#include "ssk.h"

const char *ssk_version(void)
{
    return "0.1.0";
}
