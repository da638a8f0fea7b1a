#pragma once

/// Gives back the pages of the program's file and of its libraries that are in this process's memory: code and constants, to which nothing can
/// have been written. They are copies of nothing. The kernel keeps them in its cache as long as it has room, and each comes back when it is used.
void carillon_pages_release(void);
