/* Needs a symbol that does not exist, and one that may be missing. */
long nobody_has_this_function(long);
__attribute__((weak)) long may_be_missing(long);
long missing(long x) { return may_be_missing ? may_be_missing(x) : nobody_has_this_function(x); }
