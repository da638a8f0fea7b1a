#pragma once

/// Gives back the pages of the program's file and of its libraries that are in this process's memory: code and constants, which the
/// program cannot write to. The kernel keeps them in its cache as long as it has room, and each comes back when it is used. Breakpoints and
/// probes that a debugger or uprobes have put into the code are lost, so a debug build does nothing.
void carillon_pages_release(void);
