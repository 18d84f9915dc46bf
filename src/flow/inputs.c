/*
 * flow/inputs.c
 *		The watermark of an operator with several inputs: minimum over the active ones.
 *
 * An input is *active*, *idle* or *finished*, and an active one is *aligned* unless
 * it came back from idleness behind the combined watermark: until it caught up, it
 * does not take part. The input watermark SE_TIME_MAX means finished as well as the
 * end itself does: counted as a time it would pull everything to the end while
 * others are merely idle.
 */
#include "postgres.h"

#include "flow/inputs.h"

typedef struct Input
{
	SeTime		watermark;
	bool		idle;
	bool		finished;
	bool		ended;
	bool		aligned;
} Input;

struct SeInputs
{
	int			n;
	SeTime		combined;		/* never goes back */
	Input		inputs[FLEXIBLE_ARRAY_MEMBER];
};

static SeTime combine(SeInputs *inputs);

SeInputs *
se_inputs_new(MemoryContext memory, int n)
{
	SeInputs   *inputs = MemoryContextAllocZero(memory, offsetof(SeInputs, inputs) + n * sizeof(Input));

	inputs->n = n;
	inputs->combined = SE_TIME_MIN;
	for (int i = 0; i < n; i++)
	{
		inputs->inputs[i].watermark = SE_TIME_MIN;
		inputs->inputs[i].aligned = true;
	}
	return inputs;
}

/* An idle input's watermarks are ignored, and so is one that goes back. */
SeTime
se_inputs_watermark(SeInputs *inputs, int input, SeTime h)
{
	Input	   *it = &inputs->inputs[input];

	Assert(input >= 0 && input < inputs->n);
	if (h == SE_TIME_MAX)
		it->finished = true;
	else if (!it->idle && h > it->watermark)
	{
		it->watermark = h;
		it->aligned = it->aligned || h >= inputs->combined;
	}
	return combine(inputs);
}

SeTime
se_inputs_idle(SeInputs *inputs, int input, bool idle)
{
	Input	   *it = &inputs->inputs[input];

	Assert(input >= 0 && input < inputs->n);
	if (it->idle != idle)
	{
		it->idle = idle;
		it->aligned = !idle && it->watermark >= inputs->combined;
	}
	return combine(inputs);
}

SeTime
se_inputs_end(SeInputs *inputs, int input)
{
	Assert(input >= 0 && input < inputs->n);
	inputs->inputs[input].finished = true;
	inputs->inputs[input].ended = true;
	return combine(inputs);
}

/* Are all that have not finished idle (and is there one)? */
bool
se_inputs_all_idle(const SeInputs *inputs)
{
	bool		some = false;

	for (int i = 0; i < inputs->n; i++)
	{
		if (inputs->inputs[i].finished)
			continue;
		if (!inputs->inputs[i].idle)
			return false;
		some = true;
	}
	return some;
}

bool
se_inputs_all_ended(const SeInputs *inputs)
{
	for (int i = 0; i < inputs->n; i++)
	{
		if (!inputs->inputs[i].ended)
			return false;
	}
	return true;
}

/* Active: minimum of the aligned. Else idle: maximum. Else all finished: the end. */
static SeTime
combine(SeInputs *inputs)
{
	int			active = 0;
	int			aligned = 0;
	int			idle = 0;
	SeTime		low = SE_TIME_MAX;
	SeTime		high = SE_TIME_MIN;

	for (int i = 0; i < inputs->n; i++)
	{
		const Input *it = &inputs->inputs[i];

		if (it->finished)
			continue;
		if (it->idle)
		{
			idle++;
			high = Max(high, it->watermark);
			continue;
		}
		active++;
		if (it->aligned)
		{
			aligned++;
			low = Min(low, it->watermark);
		}
	}

	if (aligned > 0)
		inputs->combined = Max(inputs->combined, low);
	else if (active == 0 && idle > 0)
		inputs->combined = Max(inputs->combined, high);
	else if (active == 0)
		inputs->combined = SE_TIME_MAX;
	return inputs->combined;
}
