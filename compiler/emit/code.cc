#include "compiler/emit/code.h"

namespace berth::emit {

void Code::call(std::string_view name, std::string_view overload, std::vector<int32_t> args) {
  std::string key = std::string(name) + '.' + std::string(overload);
  const auto [it, fresh] = operator_index_.emplace(std::move(key), static_cast<int32_t>(operators_.size()));
  if (fresh) operators_.push_back({std::string(name), std::string(overload)});
  append(format::KernelCallDesc{it->second, std::move(args)});
}

void Code::call(ir::OpId op, std::vector<int32_t> args) {
  const ir::Operator& row = ir::operator_of(op);
  call(row.name, row.out_overload, std::move(args));
}

void Code::call_delegate(int32_t index, std::vector<int32_t> args) {
  append(format::DelegateCallDesc{index, std::move(args)});
}

void Code::copy(int32_t from, int32_t to) {
  if (std::get<format::TensorDesc>(values[from]).device.is_cpu()) {
    call(ir::OpId::clone_out, {from, values.null(), to, to});
  } else {
    call(ir::OpId::d2d_copy_out, {from, to, to});
  }
}

int32_t Code::jump_unless(int32_t condition) {
  append(format::JumpFalseDesc{condition, 0});
  return size() - 1;
}

void Code::land(int32_t jump, int32_t destination) {
  std::get<format::JumpFalseDesc>(instructions_[jump]).destination = destination;
}

void Code::append(format::InstructionDesc instruction) {
  instructions_.push_back(std::move(instruction));
  nodes_.push_back(node_);
  if (!stack_traces_) return;
  std::vector<format::FrameDesc> frames;
  if (node_.valid()) {
    const ir::Node& node = method_.node(node_);
    frames.push_back({"", 0, node.source, node.op->functional_name});
  }
  frames_.push_back(std::move(frames));
}

void Code::take(format::MethodDesc* desc, std::vector<ir::NodeId>* nodes) && {
  desc->values = std::move(values).take();
  desc->operators = std::move(operators_);
  desc->instructions = std::move(instructions_);
  desc->stacktrace = std::move(frames_);
  *nodes = std::move(nodes_);
}

}  // namespace berth::emit
