/* The rule tree. */
#ifndef SSK_TREE_H
#define SSK_TREE_H

#include "runtime/steps.h"

/* Sets the functions of the rule, all of which are NULL. */
void ssk_tree(ssk_steps_t *steps);

#endif
