#include "grade.h"
void grade_summary(const struct grade_book *book, const struct grade_sheet *sheets, struct text *out)
{
    (void)book; (void)sheets; text_print(out, "x");
}
