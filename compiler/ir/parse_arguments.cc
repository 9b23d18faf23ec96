// What stands between the parentheses of an operator, read as its schema says.
#include <cstdlib>

#include "compiler/ir/parser.h"
#include "compiler/ir/text.h"

namespace berth::ir {

Expected<ValueId> Parser::value() {
  BERTH_ASSIGN_OR_RETURN(const std::string name, take(TokenKind::kValue, "a value"));
  const auto found = visible_.find(name);
  if (found != visible_.end()) return found->second;
  return fail("the value " + named('%', name) + " is not defined here");
}

// A value or a number, text or none, by its looks: outputs and Scalar arguments.
Expected<Argument> Parser::literal() {
  const Token& token = lexer_.peek();
  if (token.kind == TokenKind::kValue) {
    BERTH_ASSIGN_OR_RETURN(const ValueId id, value());
    return Argument(id);
  }
  if (token.kind == TokenKind::kString) return Argument(lexer_.next().text);
  if (token.is_word("true") || token.is_word("false")) return Argument(lexer_.next().text == "true");
  if (token.is_word("none")) {
    lexer_.next();
    return Argument(None{});
  }
  if (token.kind == TokenKind::kNumber && token.text.find_first_of(".ein") != std::string::npos) {
    return Argument(std::strtod(lexer_.next().text.c_str(), nullptr));
  }
  BERTH_ASSIGN_OR_RETURN(const Dim size, dim());
  return Argument(size);
}

Expected<Argument> Parser::argument(ParameterType type) {
  const Token& token = lexer_.peek();
  if (token.is_word("none")) return literal();
  switch (type) {
    case ParameterType::kDType:
      if (DType dtype; token.kind == TokenKind::kWord && parse_dtype(token.text.data(), token.text.size(), &dtype)) {
        lexer_.next();
        return Argument(Dim(static_cast<int64_t>(dtype)));
      }
      return literal();
    case ParameterType::kTensorList:
    case ParameterType::kOptionalTensorList:
    case ParameterType::kIntList:
    case ParameterType::kFloatList:
    case ParameterType::kBoolList: break;
    default: return literal();
  }
  ValueList values;
  DimList sizes;
  FloatList reals;
  BoolList truths;
  BERTH_TRY(expect("["));
  for (bool first = true; !accept("]"); first = false) {
    if (!first) BERTH_TRY(expect(","));
    if (type == ParameterType::kIntList) {
      BERTH_ASSIGN_OR_RETURN(const Dim size, dim());
      sizes.push_back(size);
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(const Argument one, literal());
    if (type == ParameterType::kFloatList && std::holds_alternative<double>(one)) {
      reals.push_back(std::get<double>(one));
    } else if (type == ParameterType::kBoolList && std::holds_alternative<bool>(one)) {
      truths.push_back(std::get<bool>(one));
    } else if (type == ParameterType::kTensorList && std::holds_alternative<ValueId>(one)) {
      values.push_back(std::get<ValueId>(one));
    } else if (type == ParameterType::kOptionalTensorList && (std::holds_alternative<ValueId>(one) || is_none(one))) {
      values.push_back(is_none(one) ? ValueId() : std::get<ValueId>(one));
    } else {
      return fail("an item of a list has the wrong kind");
    }
  }
  if (type == ParameterType::kIntList) return Argument(std::move(sizes));
  if (type == ParameterType::kFloatList) return Argument(std::move(reals));
  if (type == ParameterType::kBoolList) return Argument(std::move(truths));
  return Argument(std::move(values));
}

}  // namespace berth::ir
