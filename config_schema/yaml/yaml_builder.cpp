// SPDX-License-Identifier: Apache-2.0
#include "config_schema/yaml/yaml_builder.hpp"

#include <fmt/format.h>

#include "config_schema/yaml/yaml_document.hpp"

namespace train {

namespace {

constexpr std::string_view core_prefix = "tag:yaml.org,2002:";

// The short name of a core tag ("str"), or the whole tag.
std::string_view short_tag(std::string_view tag) {
  if (tag.substr(0, core_prefix.size()) == core_prefix) tag.remove_prefix(core_prefix.size());
  return tag;
}

bool has_kind(const YamlNode& node, std::string_view tag) {
  switch (node.kind) {
    case YamlKind::null:
      return tag == "null";
    case YamlKind::boolean:
      return tag == "bool";
    case YamlKind::integer:
      return tag == "int" || tag == "float";
    case YamlKind::real:
      return tag == "float";
    default:
      return false;
  }
}

// Long text counts as several nodes: with aliases of aliases, one line of it would become
// gigabytes. A file without aliases is never refused because of this.
std::size_t weight_of(const std::string& text) {
  constexpr std::size_t bytes_of_a_node = 16;
  return text.size() / bytes_of_a_node;
}

YamlNode make_string(std::string text) {
  YamlNode node;
  node.kind = YamlKind::string;
  node.text = std::move(text);
  return node;
}

}  // namespace

void YamlBuilder::give_up(const YamlMark& mark, std::string message, std::string hint) {
  if (verdict_) return;
  verdict_ = Verdict{{place_of(mark), {}, std::move(message), std::move(hint)}, true};
}

bool YamlBuilder::awaits_key() const {
  return !open_.empty() && open_.back().node->kind == YamlKind::mapping && !open_.back().has_key;
}

void YamlBuilder::take_key(const YamlMark& mark, const std::string& text, bool is_plain) {
  Open& open = open_.back();
  open.has_key = true;
  open.key_is_plain = is_plain;
  open.key = text;
  open.key_mark = mark;
  open.node->size += weight_of(text);
  const auto [known, is_new] = open.lines.emplace(text, mark.line);
  if (is_new) return;
  diagnostics_.error(
      place_of(mark), text,
      mark.text && mark.text->is_flag
          ? fmt::format("key '{}' is given twice", text)
          : fmt::format("key '{}' is given twice; first on line {}", text, known->second),
      "remove one of the two");
}

void YamlBuilder::add_scalar(const YamlMark& mark, const std::string& tag, std::size_t anchor,
                             const std::string& text) {
  if (verdict_) return;
  if (awaits_key()) {
    if (anchor != 0) anchors_[anchor] = std::make_shared<YamlNode>(make_string(text));
    return take_key(mark, text, tag == "?");
  }
  YamlNode node = tag == "?" ? resolve_plain_scalar(text) : make_string(text);
  const std::string_view kind = short_tag(tag);
  if (tag != "?" && kind != "!" && kind != "str") {
    node = resolve_plain_scalar(text);
    if (!has_kind(node, kind))
      return give_up(mark, fmt::format("the tag '{}' does not fit its value", tag),
                     "tags are not needed: write the plain value");
  }
  node.mark = mark;
  node.size += weight_of(node.text);
  auto shared = std::make_shared<YamlNode>(std::move(node));
  if (anchor != 0) anchors_[anchor] = shared;
  add(std::move(shared));
}

void YamlBuilder::add_alias(const YamlMark& mark, std::size_t anchor) {
  if (verdict_) return;
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end())
    return give_up(mark, "the alias stands inside what it is an alias of",
                   "an endless tree cannot be read");
  if (!awaits_key()) return add(found->second);
  if (!found->second->is_scalar()) return give_up(mark, "a key must be a single word");
  take_key(mark, found->second->text, false);
}

void YamlBuilder::begin(YamlKind kind, const YamlMark& mark, const std::string& tag,
                        std::size_t anchor) {
  if (verdict_) return;
  if (awaits_key()) {
    give_up(mark, "a key must be a single word, not a list or a mapping",
            "quote text that begins with '[' or '{'");
    verdict_->is_certain = false;
    return;
  }
  if (static_cast<int>(open_.size()) >= max_yaml_depth)
    return give_up(mark, fmt::format("nested deeper than {} levels", max_yaml_depth));
  const std::string_view expected = kind == YamlKind::mapping ? "map" : "seq";
  const std::string_view given = short_tag(tag);
  if (!given.empty() && given != "?" && given != "!" && given != expected)
    return give_up(mark, fmt::format("the tag '{}' has no meaning here", tag), "remove it");
  Open open;
  open.node = std::make_shared<YamlNode>();
  open.node->kind = kind;
  open.node->mark = mark;
  open.anchor = anchor;
  open_.push_back(std::move(open));
}

void YamlBuilder::end() {
  if (verdict_) return;
  Open open = std::move(open_.back());
  open_.pop_back();
  resolve_merges(open);
  if (open.anchor != 0) anchors_[open.anchor] = open.node;
  add(std::move(open.node));
}

void YamlBuilder::add(YamlNodePtr node) {
  const YamlMark mark = node->mark;
  // The second bound applies before the enclosing nodes are complete.
  created_ += node->is_scalar() ? 1 : 0;
  const std::size_t size = open_.empty() ? node->size : open_.back().node->size + node->size;
  if (size > max_yaml_nodes || created_ > max_yaml_nodes)
    return give_up(mark, fmt::format("expands to more than {} values", max_yaml_nodes),
                   "use fewer aliases ('*name'), or split the file");
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  Open& open = open_.back();
  open.node->size = size;
  if (open.node->kind == YamlKind::sequence)
    open.node->items.push_back(std::move(node));
  else
    add_entry(open, std::move(node));
}

void YamlBuilder::add_entry(Open& open, YamlNodePtr node) {
  open.has_key = false;
  YamlEntry entry{std::move(open.key), open.key_mark, std::move(node)};
  const bool is_merge = open.key_is_plain && entry.key == "<<";
  (is_merge ? open.merged : open.node->entries).push_back(std::move(entry));
}

// Keys of the mapping itself override merged ones; earlier merged mappings override later ones.
void YamlBuilder::resolve_merges(Open& open) {
  for (const YamlEntry& merge : open.merged) {
    if (merge.value->kind == YamlKind::sequence) {
      for (const YamlNodePtr& mapping : merge.value->items) merge_mapping(open, merge, *mapping);
    } else {
      merge_mapping(open, merge, *merge.value);
    }
  }
}

void YamlBuilder::merge_mapping(Open& open, const YamlEntry& merge, const YamlNode& mapping) {
  if (mapping.kind != YamlKind::mapping) {
    diagnostics_.error(place_of(merge.mark), "<<",
                       fmt::format("'<<' merges mappings, not {}", describe(mapping)));
    return;
  }
  for (const YamlEntry& entry : mapping.entries)
    if (open.lines.emplace(entry.key, entry.mark.line).second) open.node->entries.push_back(entry);
}

YamlNodePtr YamlBuilder::take_root() {
  if (!root_) root_ = std::make_shared<YamlNode>();
  return std::move(root_);
}

}  // namespace train
