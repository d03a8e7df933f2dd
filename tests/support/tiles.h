// Tiles for a processor that has none: while an ImitatedTiles lives, the instructions of
// runtime/cpu/tiles.h, which are illegal there, are carried out by a handler of that signal, as
// Intel's manual defines them (Intel 64 and IA-32 Architectures Software Developer's Manual, volume
// 2, "Intel AMX instructions"). Slow; for tests.
#pragma once

namespace rille::test {

class ImitatedTiles {
 public:
  /// Whether it can be done here: Linux on x86-64, and a processor with products of pairs, as all
  /// that have tiles.
  static bool possible();

  ImitatedTiles();
  ~ImitatedTiles();
  ImitatedTiles(const ImitatedTiles&) = delete;
  ImitatedTiles& operator=(const ImitatedTiles&) = delete;

  /// Whether products of tiles were carried out since this began: here, or by a processor that can.
  bool used() const;

 private:
  bool real_;
};

}  // namespace rille::test
