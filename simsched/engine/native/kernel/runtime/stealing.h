/* The rule stealing. */
#ifndef SSK_STEALING_H
#define SSK_STEALING_H

#include "runtime/steps.h"

/* Sets the functions of the rule, all of which are NULL. */
void ssk_stealing(ssk_steps_t *steps);

#endif
