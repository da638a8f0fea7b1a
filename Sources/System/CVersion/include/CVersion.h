#pragma once

/// The commit that was built, abbreviated; empty if nobody said so. script/release and script/package do, by
/// CARILLON_COMMIT.
extern const char *const carillon_commit;
