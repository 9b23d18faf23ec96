// InPlace: handles graphs with in-place operators. When `add_` writes a tensor, its base and its views change too;
// values of the IR never change, so names get new values instead:
//
//     a = view(x); b = add_(a, 1)     →     a' = a + 1, b is a', x' = a' in x's shape; other views of x are made again
//                                           from x' when they are next read
//
// Graphs after run_decompositions() have no such operators; there this does nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/import/pt2/node_context.h"

namespace berth::pt2 {

class InPlace {
 public:
  /// Borrows all three.
  InPlace(ImportState& state, const Graph& graph, Scope& scope);

  /// Whether the graph writes anything in place.
  bool active() const { return active_; }
  /// Updates the values that `node` reads. Called before it is imported.
  Status before(const Node& node, ir::Builder& build);
  /// Records what `node` is a view of, or propagates what it wrote. Called after it was imported.
  Status after(const Node& node, ir::Builder& build);
  /// Updates the value of `name`.
  Status refresh(const std::string& name, ir::Builder& build);

 private:
  struct View {
    std::string base;
    const Node* node = nullptr;  // null: the same tensor by another name
    size_t output = 0;
  };

  const View* view_of(const std::string& name) const;
  const std::string& root_of(const std::string& name) const;
  Status write_base(const std::string& name, ir::Builder& build);

  ImportState& state_;
  const Graph& graph_;
  Scope& scope_;
  bool active_ = false;
  std::map<std::string, View> views_;
  std::map<std::string, int> versions_;  // of roots: how often written; of names: at which write they were current
};

/// The tensors of `graph`'s inputs that operators write in place, through views or not.
std::set<std::string> written_inputs(const Graph& graph);

}  // namespace berth::pt2
