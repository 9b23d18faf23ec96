#include "compiler/ir/parse.h"

#include <cerrno>
#include <cstdlib>

#include "compiler/ir/builder.h"
#include "compiler/ir/own_operators.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/print.h"
#include "compiler/ir/shape_args.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "compiler/ir/verify_regions.h"

namespace berth::ir {
Expected<Module> parse(std::string_view text, const std::string& name, const std::string& directory,
                       std::shared_ptr<const OperatorSet> operators) {
  BERTH_ASSIGN_OR_RETURN(Module module, Parser(text, name, directory, std::move(operators)).module());
  Status status = verify(module);
  if (!status.ok()) {
    Failure failure = status.error();
    failure.place = name + ": " + failure.place;
    return failure;
  }
  return module;
}

Failure Parser::unexpected(std::string_view wanted) const {
  const Token& token = lexer_.peek();
  if (token.kind == TokenKind::kError) return fail_at(token.line, token.text);
  const std::string found = token.kind == TokenKind::kEnd ? token.text : "'" + token.text + "'";
  return fail_at(token.line, "expected " + std::string(wanted) + ", found " + found);
}

bool Parser::accept(std::string_view punctuation) {
  if (!lexer_.peek().is(punctuation)) return false;
  lexer_.next();
  return true;
}

Status Parser::expect(std::string_view punctuation) {
  if (accept(punctuation)) return Done{};
  return unexpected("'" + std::string(punctuation) + "'");
}

Expected<std::string> Parser::take(TokenKind kind, std::string_view wanted) {
  if (lexer_.peek().kind != kind) return unexpected(wanted);
  return lexer_.next().text;
}

Expected<std::string> Parser::identifier_name(std::string_view wanted) {
  if (lexer_.peek().kind == TokenKind::kQuoted) return lexer_.next().text;
  if (lexer_.peek().kind == TokenKind::kWord && is_reserved(lexer_.peek().text)) return unexpected(wanted);
  return take(TokenKind::kWord, wanted);
}

Expected<int64_t> Parser::integer() {
  if (lexer_.peek().kind != TokenKind::kNumber) return unexpected("a whole number");
  errno = 0;
  char* end = nullptr;
  const long long number = std::strtoll(lexer_.peek().text.c_str(), &end, 10);
  if (errno != 0 || *end != '\0') return unexpected("a whole number of 64 bits");
  lexer_.next();
  return static_cast<int64_t>(number);
}

Expected<Module> Parser::module() {
  while (lexer_.peek().kind != TokenKind::kEnd) {
    const Token& token = lexer_.peek();
    if (token.is_word("symbol")) {
      BERTH_TRY(symbol());
    } else if (token.is_word("const")) {
      BERTH_TRY(constant());
    } else if (token.is_word("state")) {
      BERTH_TRY(state());
    } else if (token.is_word("delegate")) {
      BERTH_TRY(delegate());
    } else if (token.is_word("where")) {
      BERTH_TRY(where());
    } else if (token.is_word("data")) {
      BERTH_TRY(named_data());
    } else if (token.is_word("method")) {
      BERTH_TRY(method());
    } else {
      return unexpected("symbol, where, const, state, delegate, data or method");
    }
  }
  for (const auto& [path, file] : files_) module_.files.push_back(path);
  return std::move(module_);
}

// `symbol n in [1, 8]`, `symbol h in [32, 512] step 32`, `symbol w = (h * 2)`
Status Parser::symbol() {
  lexer_.next();
  BERTH_ASSIGN_OR_RETURN(const std::string name, identifier_name("a symbol's name"));
  if (module_.symbols.has_name(name)) return fail("the symbol '" + name + "' is declared twice");
  if (accept("=")) {
    BERTH_ASSIGN_OR_RETURN(const Dim size, dim());
    module_.symbols.assume({SizeRelation::Kind::kNamed, name, size, Dim()});
    return Done{};
  }
  if (!lexer_.peek().is_word("in")) return unexpected("'in'");
  lexer_.next();
  BERTH_TRY(expect("["));
  BERTH_ASSIGN_OR_RETURN(const int64_t min, integer());
  BERTH_TRY(expect(","));
  BERTH_ASSIGN_OR_RETURN(const int64_t max, integer());
  BERTH_TRY(expect("]"));
  int64_t step = 1;
  if (lexer_.peek().is_word("step")) {
    lexer_.next();
    BERTH_ASSIGN_OR_RETURN(step, integer());
  }
  auto made = module_.symbols.input(name, min, max, step);
  if (!made.ok()) return fail("the symbol '" + name + "': " + made.error().message);
  return Done{};
}

// `where (t + p) <= 512`, `where mod((h + w), 32) == 0`
Status Parser::where() {
  lexer_.next();
  SizeRelation relation;
  BERTH_ASSIGN_OR_RETURN(relation.a, dim());
  const bool at_most = accept("<");
  if (!at_most && !accept("=")) return unexpected("'<=' or '=='");
  BERTH_TRY(expect("="));
  BERTH_ASSIGN_OR_RETURN(relation.b, dim());
  relation.kind = at_most ? SizeRelation::Kind::kAtMost : SizeRelation::Kind::kEqual;
  module_.symbols.assume(std::move(relation));
  return Done{};
}

// `const @w: f32[2] = dense<[1.0, 2.0]>`
Status Parser::constant() {
  lexer_.next();
  BERTH_ASSIGN_OR_RETURN(const std::string name, take(TokenKind::kAt, "a constant's name"));
  BERTH_TRY(expect(":"));
  BERTH_ASSIGN_OR_RETURN(TensorType type, tensor_type());
  BERTH_TRY(expect("="));
  BERTH_ASSIGN_OR_RETURN(Blob contents, blob(type));
  if (constants_.count(name) != 0) return fail("the constant '" + name + "' is declared twice");
  constants_.emplace(name, module_.add_constant(name, std::move(type), std::move(contents)));
  return Done{};
}

// `state @cache: f32[8] = splat<0.0>`; zero without contents.
Status Parser::state() {
  lexer_.next();
  State state;
  BERTH_ASSIGN_OR_RETURN(state.name, take(TokenKind::kAt, "a state's name"));
  BERTH_TRY(expect(":"));
  BERTH_ASSIGN_OR_RETURN(state.type, tensor_type());
  if (accept("=")) {
    BERTH_ASSIGN_OR_RETURN(state.initial, blob(state.type));
  }
  const StateId id = module_.states.next_id();
  if (!states_.emplace(state.name, id).second) return fail("the state '" + state.name + "' is declared twice");
  module_.states.push_back(std::move(state));
  return Done{};
}

// `delegate @d0 "berth.sim" {target_device = "sim:0"} = hex"…"`; what a backend compiles from the call's region has no
// contents yet.
Status Parser::delegate() {
  lexer_.next();
  Delegate delegate;
  BERTH_ASSIGN_OR_RETURN(delegate.name, take(TokenKind::kAt, "a delegate's name"));
  BERTH_ASSIGN_OR_RETURN(delegate.backend, take(TokenKind::kString, "a backend's name in quotes"));
  if (accept("{")) BERTH_TRY(compile_specs(delegate));
  if (accept("=")) {
    BERTH_ASSIGN_OR_RETURN(delegate.payload, payload());
  }
  const DelegateId id = module_.delegates.next_id();
  if (!delegates_.emplace(delegate.name, id).second) {
    return fail("the delegate '" + delegate.name + "' is declared twice");
  }
  module_.delegates.push_back(std::move(delegate));
  return Done{};
}

// `data "weights" = hex"…"`
Status Parser::named_data() {
  lexer_.next();
  NamedData data;
  BERTH_ASSIGN_OR_RETURN(data.key, take(TokenKind::kString, "a key in quotes"));
  BERTH_TRY(expect("="));
  BERTH_ASSIGN_OR_RETURN(data.blob, payload());
  if (!named_data_.insert(data.key).second) return fail("the data \"" + data.key + "\" are declared twice");
  module_.named_data.push_back(std::move(data));
  return Done{};
}

// `target_device = "sim:0", level = "3"}`
Status Parser::compile_specs(Delegate& delegate) {
  while (!accept("}")) {
    if (!delegate.specs.empty()) BERTH_TRY(expect(","));
    CompileSpec spec;
    BERTH_ASSIGN_OR_RETURN(spec.key, identifier_name("a compile spec's name"));
    BERTH_TRY(expect("="));
    BERTH_ASSIGN_OR_RETURN(spec.value, take(TokenKind::kString, "a compile spec's value in quotes"));
    delegate.specs.push_back(std::move(spec));
  }
  return Done{};
}

Status Parser::method() {
  lexer_.next();
  Method method;
  BERTH_ASSIGN_OR_RETURN(method.name, identifier_name("a method's name"));
  if (module_.find_method(method.name) != nullptr) return fail("the method '" + method.name + "' is declared twice");
  method_ = &method;
  visible_.clear();
  taken_.clear();
  scope_.clear();
  BERTH_TRY(inputs(method.body));
  BERTH_TRY(expect("{"));
  BERTH_TRY(body(method.body, 0, "return"));
  for (size_t k = 0; k < method.body.outputs.size(); ++k) method.output_names[k] = method.output_name(k);
  method_ = nullptr;
  module_.methods.push_back(std::move(method));
  return Done{};
}

// `(%x: f32[n,3], %y: f32[3])`
Status Parser::inputs(Graph& graph) {
  BERTH_TRY(expect("("));
  while (!accept(")")) {
    if (!graph.inputs.empty()) BERTH_TRY(expect(","));
    BERTH_ASSIGN_OR_RETURN(const Declared declared, declaration());
    BERTH_ASSIGN_OR_RETURN(const ValueId id, define(declared));
    graph.inputs.push_back(id);
  }
  return Done{};
}

Expected<Parser::Declared> Parser::declaration() {
  BERTH_ASSIGN_OR_RETURN(std::string name, take(TokenKind::kValue, "a value"));
  BERTH_TRY(expect(":"));
  BERTH_ASSIGN_OR_RETURN(Type declared, type());
  return Declared{std::move(name), std::move(declared)};
}

Expected<ValueId> Parser::define(const Declared& declared) {
  if (!taken_.insert(declared.name).second) return fail("the value " + named('%', declared.name) + " is defined twice");
  const ValueId id = method_->add_value(declared.type, declared.name);
  if (method_->value(id).name != declared.name) method_->rename(id, declared.name);
  visible_.emplace(declared.name, id);
  scope_.push_back(declared.name);
  return id;
}

// Statements up to `return …` or `yield …` and the closing brace.
Status Parser::body(Graph& graph, int depth, std::string_view last) {
  while (!lexer_.peek().is_word(last)) BERTH_TRY(statement(graph, depth));
  lexer_.next();
  BERTH_TRY(outputs(graph));
  return expect("}");
}

Status Parser::statement(Graph& graph, int depth) {
  std::vector<Declared> results;
  if (lexer_.peek().kind == TokenKind::kValue) {
    do {
      BERTH_ASSIGN_OR_RETURN(Declared declared, declaration());
      results.push_back(std::move(declared));
    } while (accept(","));
    BERTH_TRY(expect("="));
    if (lexer_.peek().is_word("const")) return constant_value(results, depth);
  }
  if (lexer_.peek().kind != TokenKind::kWord) return unexpected("an operator");
  return operation(graph, results, depth);
}

// `%w: f32[2] = const @w`
Status Parser::constant_value(const std::vector<Declared>& results, int depth) {
  lexer_.next();
  BERTH_ASSIGN_OR_RETURN(const std::string name, take(TokenKind::kAt, "a constant's name"));
  const auto found = constants_.find(name);
  if (found == constants_.end()) return fail("the constant " + named('@', name) + " is not declared");
  if (results.size() != 1 || depth > 0) {
    return fail("expected constants to be named one by one, outside of regions");
  }
  const Declared& declared = results[0];
  const Constant& constant = module_.constants[found->second];
  const TensorType* type = std::get_if<TensorType>(&declared.type);
  if (type == nullptr || *type != constant.type) {
    return fail("expected the type of " + named('@', name) + ", " + print(Type(constant.type), module_.symbols) +
                ", found " + print(declared.type, module_.symbols));
  }
  const size_t before = method_->values.size();
  const ValueId id = method_->constant_value(module_, found->second);
  if (method_->values.size() == before) return fail("the constant " + named('@', name) + " is named twice");
  if (!taken_.insert(declared.name).second) return fail("the value " + named('%', declared.name) + " is defined twice");
  method_->rename(id, declared.name);
  visible_.emplace(declared.name, id);
  scope_.push_back(declared.name);
  return Done{};
}

// `aten::relu(%x) "Relu_0"`, behind the results and '='.
Status Parser::operation(Graph& graph, const std::vector<Declared>& results, int depth) {
  const int line = lexer_.peek().line;
  Node node;
  node.op = find_operator(lexer_.peek().text, module_.operators.get());
  if (node.op == nullptr) return fail_at(line, "the operator '" + lexer_.peek().text + "' does not exist");
  lexer_.next();
  BERTH_TRY(expect("("));
  while (!accept(")")) {
    if (!node.args.empty()) BERTH_TRY(expect(","));
    if (node.args.size() == node.op->parameters.size()) {
      return fail(node.op->functional_name + " takes " + std::to_string(node.args.size()) + " arguments, found more");
    }
    BERTH_ASSIGN_OR_RETURN(Argument one, argument(node.op->parameters[node.args.size()].type));
    node.args.push_back(std::move(one));
  }
  BERTH_TRY(object_name(node));
  BERTH_TRY(regions(node, depth));
  if (lexer_.peek().kind == TokenKind::kString) node.source = lexer_.next().text;
  BERTH_TRY(results_of(node, results, line));
  graph.nodes.push_back(method_->nodes.next_id());
  method_->nodes.push_back(std::move(node));
  return Done{};
}

// `@cache`: the state, or the delegate, that the node is about.
Status Parser::object_name(Node& node) {
  if (lexer_.peek().kind != TokenKind::kAt) return Done{};
  const std::string name = lexer_.next().text;
  if (node.is(OpId::delegate)) {
    const auto called = delegates_.find(name);
    if (called == delegates_.end()) return fail("the delegate " + named('@', name) + " is not declared");
    node.delegate = called->second;
    return Done{};
  }
  const auto found = states_.find(name);
  if (found == states_.end()) return fail("the state " + named('@', name) + " is not declared");
  node.state = found->second;
  return Done{};
}

// `{ (%x: f32[2]) … yield %y }`, as many as there are. What a region defines is not seen outside of it.
Status Parser::regions(Node& node, int depth) {
  while (accept("{")) {
    if (const std::string problem = depth_problem(node, depth); !problem.empty()) return fail(problem);
    const size_t outer = scope_.size();
    Graph region;
    BERTH_TRY(inputs(region));
    BERTH_TRY(body(region, depth + 1, "yield"));
    node.regions.push_back(std::move(region));
    for (; scope_.size() > outer; scope_.pop_back()) visible_.erase(scope_.back());
  }
  return Done{};
}

Status Parser::results_of(Node& node, const std::vector<Declared>& results, int line) {
  const auto failure = [&](const Failure& inner) {
    return fail_at(line, inner.place.empty() ? inner.message : inner.place + ": " + inner.message);
  };
  if (node.op->infer == nullptr) {
    const Status complete = complete_arguments(*method_, *node.op, node.args);
    if (!complete.ok()) return failure(complete.error());
  } else {
    const auto types = infer_types(module_, *method_, *node.op, node.args);
    if (!types.ok()) return failure(types.error());
    if (types->size() != results.size()) {
      return fail_at(line, node.op->functional_name + " has " + std::to_string(types->size()) + " results, found " +
                               std::to_string(results.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (types_agree(*node.op, (*types)[i], results[i].type)) continue;
      return fail_at(line, node.op->functional_name + ": expected the result " + named('%', results[i].name) + ": " +
                               print((*types)[i], module_.symbols) + ", found " +
                               print(results[i].type, module_.symbols));
    }
  }
  for (const Declared& declared : results) {
    BERTH_ASSIGN_OR_RETURN(const ValueId id, define(declared));
    Value& value = method_->value(id);
    value.kind = ValueKind::kNode;
    value.node = method_->nodes.next_id();
    value.result = static_cast<int>(node.results.size());
    node.results.push_back(id);
  }
  return Done{};
}

Status Parser::outputs(Graph& graph) {
  if (lexer_.peek().is("}")) return Done{};
  do {
    BERTH_ASSIGN_OR_RETURN(Argument output, literal());
    graph.outputs.push_back(std::move(output));
    if (&graph != &method_->body) continue;
    std::string name;
    if (lexer_.peek().kind == TokenKind::kString) {
      BERTH_ASSIGN_OR_RETURN(name, take(TokenKind::kString, "a name"));
    }
    method_->output_names.push_back(std::move(name));
  } while (accept(","));
  return Done{};
}

}  // namespace berth::ir
