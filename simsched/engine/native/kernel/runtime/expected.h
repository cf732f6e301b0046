/* The rule expected_ends. */
#ifndef SSK_EXPECTED_H
#define SSK_EXPECTED_H

#include "runtime/steps.h"

/* Sets the functions of the rule, all of which are NULL. */
void ssk_expected_ends(ssk_steps_t *steps);

#endif
