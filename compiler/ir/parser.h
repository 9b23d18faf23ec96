// Parser: the recursive descent behind parse.h. Types, sizes and bytes in parse_types.cc, the rest in parse.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/lexer.h"
#include "compiler/ir/module.h"

namespace berth::ir {

class Parser {
 public:
  Parser(std::string_view text, const std::string& name, const std::string& directory,
         std::shared_ptr<const OperatorSet> operators)
      : lexer_(text), name_(name), directory_(directory) {
    module_.operators = std::move(operators);
  }

  Expected<Module> module();

 private:
  // A result or input that was read but is not a value yet.
  struct Declared {
    std::string name;
    Type type;
  };

  // parse.cc
  Status symbol();
  Status where();
  Status constant();
  Status state();
  Status delegate();
  Status named_data();
  Status compile_specs(Delegate& delegate);
  Status method();
  Status declarations(std::vector<Declared>& out, std::string_view closing);
  Expected<Declared> declaration();
  Status inputs(Graph& graph);
  Status body(Graph& graph, int depth, std::string_view last);
  Status statement(Graph& graph, int depth);
  Status constant_value(const std::vector<Declared>& results, int depth);
  Status operation(Graph& graph, const std::vector<Declared>& results, int depth);
  Status regions(Node& node, int depth);
  Status object_name(Node& node);
  Status results_of(Node& node, const std::vector<Declared>& results, int line);
  Status outputs(Graph& graph);
  Expected<Argument> argument(ParameterType type);
  Expected<Argument> literal();
  Expected<ValueId> value();
  Expected<ValueId> define(const Declared& declared);

  // parse_types.cc
  Expected<Type> type();
  Expected<TensorType> tensor_type(DType dtype);
  Expected<TensorType> tensor_type();
  Status dimension_order(TensorType& type);
  Status device(TensorType& type);
  Expected<Dim> dim(int depth = 0);
  Expected<Dim> operation_on_dims(int depth);
  Expected<Dim> call_on_dims(int depth);
  Expected<Blob> blob(const TensorType& type);
  Expected<Blob> splat(const TensorType& type, size_t bytes);
  Expected<Blob> dense(const TensorType& type, size_t bytes);
  Expected<Blob> payload();
  Expected<Blob> hex();
  Expected<Blob> file();
  Expected<Blob> sized(Expected<Blob> blob, size_t bytes) const;
  Expected<std::shared_ptr<const MappedFile>> open(const std::string& path);

  // Words. A failure's line is that of the last token taken.
  Failure fail(const std::string& message) const { return fail_at(lexer_.line(), message); }
  Failure fail_at(int line, const std::string& message) const {
    return Failure{Error::kInvalidArgument, name_ + ":" + std::to_string(line), message};
  }
  Failure unexpected(std::string_view wanted) const;
  Status expect(std::string_view punctuation);
  bool accept(std::string_view punctuation);
  Expected<std::string> take(TokenKind kind, std::string_view wanted);
  Expected<std::string> identifier_name(std::string_view wanted);
  Expected<int64_t> integer();

  Lexer lexer_;
  std::string name_;
  std::string directory_;
  Module module_;
  std::unordered_map<std::string, ConstantId> constants_;
  std::unordered_map<std::string, StateId> states_;
  std::unordered_map<std::string, DelegateId> delegates_;
  std::unordered_set<std::string> named_data_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;

  // Of the method being read.
  Method* method_ = nullptr;
  std::unordered_map<std::string, ValueId> visible_;
  std::unordered_set<std::string> taken_;
  std::vector<std::string> scope_;  // names in the order in which they became visible
};

}  // namespace berth::ir
