// What scripts get: each file of this room binds one subject. No file here knows lua.h.
#pragma once
#include "interpreter/lua/define.h"

namespace rille::bind {

using lua::Call;
using lua::Interpreter;
using lua::NativeEntry;
using lua::Table;
using lua::Value;

void bind_tensor(Interpreter& in);
void bind_apex(Interpreter& in);
void bind_create(Interpreter& in);
void bind_autocast(Interpreter& in);
void bind_autograd(Interpreter& in);
void bind_blocks(Interpreter& in);
void bind_checkpoints(Interpreter& in);
void bind_engine(Interpreter& in);
void bind_files(Interpreter& in);
void bind_float_stats(Interpreter& in);
void bind_info(Interpreter& in);
void bind_inspect(Interpreter& in);
void bind_memory(Interpreter& in);
void bind_nn(Interpreter& in);
void bind_optim(Interpreter& in);
void bind_orders(Interpreter& in);
void bind_rehearsal(Interpreter& in);
void bind_saves(Interpreter& in);
void bind_scalers(Interpreter& in);
void bind_schema(Interpreter& in);
void bind_selection(Interpreter& in);
void bind_scopes(Interpreter& in);
void bind_system(Interpreter& in);
void bind_tables(Interpreter& in);
void bind_workers(Interpreter& in);

/// All of them.
void bind_all(Interpreter& in);

// Shared between the files.
std::string print_tensor(const Tensor& t);
Tensor tensor_get_index(Call& c);
void tensor_set_index(Call& c);
/// The device of an option or argument, "auto" resolved.
/// Among those that are granted to the scripts of `in`.
Device device_of(const Interpreter& in, const std::string& text);
DType dtype_of(const std::string& text);

}  // namespace rille::bind
