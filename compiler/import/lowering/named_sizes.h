// NamedSizes: the open sizes of a model's inputs, with what `--input-shape` and `--where` say about them.
//
//     sizes.declare("batch");                            // for each open size of each input
//     sizes.bound("H", {32, 512});                       // --input-shape, or what the model says
//     sizes.where("H%32==0"); sizes.where("W==2*H");     // --where
//     sizes.solve();                                     // then find("W") is (H * 2), and H a symbol in steps of 32
//
// A relation is one of == <= >= < > between two sums of sizes and numbers with + - * / % min() max(); `/` rounds down.
// "NAME=LO..HI" and "NAME=NUMBER" bound a size. Linear relations narrow ranges; an equation is solved for a size that
// occurs in it once; a remainder of one size gives its symbol a step. All else is assumed (ir::Symbols::assume) and
// checked at run time.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.h"
#include "compiler/import/lowering/extents.h"
#include "compiler/ir/dim.h"

namespace berth::lowering {

class NamedSizes {
 public:
  /// Borrows `symbols`, in which solve() makes those that stay open.
  explicit NamedSizes(ir::Symbols& symbols) : symbols_(symbols) {}

  /// Adds a size; its name is an identifier.
  void declare(const std::string& name);
  /// The size is also known as `name`, and is called so from now on. REQUIRES: declared.
  void rename(const std::string& declared, const std::string& name);
  /// What a size of this name is called; itself, unless it was renamed.
  const std::string& known_as(const std::string& name) const;
  bool has(const std::string& name) const;

  /// Bounds the size, beside earlier bounds. False when no number satisfies all of them. REQUIRES: declared.
  bool bound(const std::string& name, Extent extent);

  /// One argument of `--where`. InvalidArgument, with it as place, for other text and for a name that is not declared.
  Status where(const std::string& text);
  /// What the model itself says: `name` is the expression `text`. False where that is not about other declared names.
  bool where_model_says(const std::string& name, const std::string& text);

  /// Makes the symbols. InvalidArgument where no sizes fulfil all relations. Sizes without an upper bound are left out.
  Status solve();
  /// After solve(): the names that have no upper bound, in the order in which they were declared.
  const std::vector<std::string>& unbounded() const { return unbounded_; }
  /// After solve(), for a name that is declared and has a bound.
  ir::Dim find(const std::string& name) const { return dims_.at(known_as(name)); }

 private:
  struct Range {
    int64_t least = 1;  // 0 only where it is asked for
    int64_t most = kMaxExtent;
    int64_t step = 1;  // the size is `offset` and a multiple of it
    int64_t offset = 0;
    bool said = false;  // it was bounded
  };
  /// What was asked for: both sides in `plain_`, where every size is a symbol without a range.
  struct Wish {
    std::string place;  // of failures
    std::string text;
    ir::SizeRelation relation;
    bool absorbed = false;  // solved, or a step: nothing is left to assume
  };
  /// A size that follows from others.
  struct Solved {
    std::string name;
    std::string place;  // of what says so
    ir::Linear is;      // in symbols of `plain_`
  };

  Expected<ir::SizeRelation> parse(const std::string& text, ir::Symbols& symbols, bool plain) const;
  ir::Dim plain(const std::string& name) const;
  Status where_range(const std::string& text, size_t equals);
  static Failure impossible(const std::string& place);
  std::string names() const;

  ir::Linear substituted(ir::Linear sum) const;
  Status eliminate(Wish& wish);
  Status take_remainder(Wish& wish);
  bool narrow(const ir::Linear& not_negative, bool* changed);
  Status narrow_all();
  Status make_symbols();
  Status assume(const Wish& wish);

  ir::Symbols& symbols_;
  mutable ir::Symbols plain_;
  std::vector<std::string> order_;                           // as declared, without those that were renamed
  std::map<std::string, std::string, std::less<>> aliases_;  // by the old name
  std::map<std::string, Range, std::less<>> ranges_;
  std::map<ir::SymbolId, std::string> names_;  // of symbols of plain_
  std::vector<Wish> wishes_;
  std::vector<Solved> solved_;
  std::map<std::string, ir::Dim, std::less<>> dims_;
  std::vector<std::string> unbounded_;
};

}  // namespace berth::lowering
