/* A word that others find by linking with this: what their constructors and destructors call. */
void (*door)(int);
