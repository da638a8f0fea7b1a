#include "CVersion.h"

#ifndef CARILLON_COMMIT
#define CARILLON_COMMIT ""
#endif

// In C, because only a C target can be given a text by the manifest.
const char *const carillon_commit = CARILLON_COMMIT;
