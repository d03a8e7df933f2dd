// A disk that watches and fails. The test program's own open, write, fsync, rename ... stand in
// front of the C library's: what happens below a folder is noted as a trace, or made to fail at a
// chosen call or byte. Everything else passes. One thread, but for writing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rille::test::disk {

/// What was done, in the order in which it was done. Paths are relative to the folder watched.
struct Op {
  enum Kind { create, write, sync, mkdir, sync_folder, rename, unlink, symlink, mark };
  Kind kind;
  std::string path;
  std::string to;       // rename's new name; symlink's text
  int64_t file = -1;    // create, write, sync: which file, whatever its name is by now
  uint64_t offset = 0;  // write
  std::string bytes;    // write
  int64_t number = 0;   // mark
};

/// Watches everything below `root` from now until stop(), which gives the trace.
void watch(const std::string& root);
std::vector<Op> stop();
/// The test's own note in the trace.
void mark(int64_t number);

/// The disk is full after so many more bytes: a write is cut short, the next one fails.
void fill_after(uint64_t bytes);
/// The call of that number from here (from 1) fails with `error`, and with `sticky` all after it.
void fail_call(int64_t number, int error, bool sticky);
/// Whether a failure was given since the last fill_after or fail_call; takes the fault away.
bool gave_failure();

}  // namespace rille::test::disk
