/*
 * flow/inputs.h
 *		The watermark of an operator with several inputs: minimum over the active ones.
 *
 * Pure; semantics 0.1 rule 7 and the cases WM-14 to WM-22: idle inputs do not hold
 * the watermark back; a resumed input counts again only after it caught up; finished
 * inputs are excluded; with no active input: all idle -> the greatest of them (and the
 * combination is idle), all finished -> SE_TIME_MAX.
 */
#ifndef SE_INPUTS_H
#define SE_INPUTS_H

#include "base/se.h"

typedef struct SeInputs SeInputs;

extern SeInputs *se_inputs_new(MemoryContext memory, int n);

/* Each returns the combined watermark after the event; it never goes back. */
extern SeTime se_inputs_watermark(SeInputs *inputs, int input, SeTime h);
extern SeTime se_inputs_idle(SeInputs *inputs, int input, bool idle);
extern SeTime se_inputs_end(SeInputs *inputs, int input);

extern bool se_inputs_all_idle(const SeInputs *inputs);
extern bool se_inputs_all_ended(const SeInputs *inputs);

#endif							/* SE_INPUTS_H */
