/* The rules central and drawn. */
#ifndef SSK_CENTRAL_H
#define SSK_CENTRAL_H

#include "runtime/steps.h"

/* Set the functions of the rule, all of which are NULL. */
void ssk_central(ssk_steps_t *steps);
void ssk_drawn(ssk_steps_t *steps);

#endif
