/**
 * @file image_view.h
 * @brief What of the image an untrusted runner can see itself: the case it works on, and nothing while it is called.
 */
#pragma once

#include "protocol/wire.h"

/** @brief From now on this process sees the header of @p image, case @p index of it and that case's buffers, and no other. */
void image_view_open(struct wire_header *image, uint32_t index);

/** @brief Takes (1) that from sight, too, until 0. Does nothing where no view was opened. */
void image_view_hide(int hide);
