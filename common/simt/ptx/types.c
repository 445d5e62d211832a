/**
 * @file types.c
 * @brief The types of PTX.
 */
#include "types.h"

#include <string.h>

const struct ptx_type_facts ptx_type[PTX_TYPES] = {
    [PTX_NONE] = {"", 0, ' '},          [PTX_PRED] = {"pred", 1, 'p'},    [PTX_B8] = {"b8", 8, 'b'},
    [PTX_B16] = {"b16", 16, 'b'},       [PTX_B32] = {"b32", 32, 'b'},     [PTX_B64] = {"b64", 64, 'b'},
    [PTX_B128] = {"b128", 128, 'b'},    [PTX_U8] = {"u8", 8, 'u'},        [PTX_U16] = {"u16", 16, 'u'},
    [PTX_U32] = {"u32", 32, 'u'},       [PTX_U64] = {"u64", 64, 'u'},     [PTX_S8] = {"s8", 8, 's'},
    [PTX_S16] = {"s16", 16, 's'},       [PTX_S32] = {"s32", 32, 's'},     [PTX_S64] = {"s64", 64, 's'},
    [PTX_U16X2] = {"u16x2", 32, 'u'},   [PTX_S16X2] = {"s16x2", 32, 's'}, [PTX_F16] = {"f16", 16, 'f'},
    [PTX_BF16] = {"bf16", 16, 'f'},     [PTX_F16X2] = {"f16x2", 32, 'f'}, [PTX_BF16X2] = {"bf16x2", 32, 'f'},
    [PTX_TF32] = {"tf32", 32, 'f'},     [PTX_F32] = {"f32", 32, 'f'},     [PTX_F64] = {"f64", 64, 'f'},
    [PTX_E4M3] = {"e4m3", 8, 'f'},      [PTX_E5M2] = {"e5m2", 8, 'f'},    [PTX_E4M3X2] = {"e4m3x2", 16, 'f'},
    [PTX_E5M2X2] = {"e5m2x2", 16, 'f'},
};

enum ptx_type ptx_type_named(const char *name, size_t length)
{
    for (int i = PTX_PRED; i < PTX_TYPES; i++)
        if (strlen(ptx_type[i].name) == length && strncmp(ptx_type[i].name, name, length) == 0)
            return (enum ptx_type)i;
    return PTX_NONE;
}

bool ptx_type_fits(enum ptx_type have, enum ptx_type want, bool wider)
{
    const struct ptx_type_facts *h = &ptx_type[have], *w = &ptx_type[want];
    if (h->class == 'p' || w->class == 'p') return h->class == w->class;
    if (h->bits != w->bits && !(wider && h->bits > w->bits)) return false;
    if (h->class == 'b' || w->class == 'b') return true;
    if (wider && h->bits > w->bits) return true;
    if (h->class != 'f' && w->class != 'f') return true;
    return have == want;
}
