// Products of blocks by the tile unit (cpu/tiles.h), for cpu/block_product.cpp alone.
#pragma once
#include "cpu/block_product.h"
#include "cpu/tiles.h"

namespace rille::cpu {

/// The depth that one tile covers.
inline constexpr int64_t kTileDepth = kTileCells * CellOf<Pair>::numbers;

/// m is a multiple of kTileRows, k of kTileDepth, a_col is 1. Inside a TileScope.
void multiply_whole_tiles(const BlockProduct<Pair>& product);

}  // namespace rille::cpu
