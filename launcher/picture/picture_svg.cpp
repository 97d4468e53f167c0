// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/picture_svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/picture/cells.hpp"
#include "launcher/picture/columns.hpp"
#include "launcher/plan/summaries.hpp"

namespace train {
namespace {

using namespace svg_size;

// Pixels.
constexpr int margin = page_margin;
constexpr int padding = 14;
constexpr int label_x = margin + padding;
constexpr int label_room = 236;
constexpr int cells_x = label_x + label_room + padding;
constexpr int cells_room = page_width - margin - padding - cells_x;
constexpr int cell_height = 30;
constexpr int gap = 4;
constexpr int least_cell = 34;
constexpr int widest_cell = 72;
constexpr int label_gap = 4;  // on either side of a label
constexpr int between_cards = 12;
constexpr int behind_step = 4;  // offset of the cards behind the card of several hosts

constexpr int most_cells = 256;  // for one host
constexpr std::size_t most_stretches = 24;
constexpr std::size_t most_holders_named = 6;

constexpr std::string_view plan_style = R"svg(<style>
.train-plan .host { font-weight: bold; }
.train-plan .remark { font-size: 12px; fill: var(--dim); }
.train-plan .behind { fill: var(--card); stroke: var(--line); }
.train-plan .used { fill: var(--used); stroke: var(--used-line); }
.train-plan .free { fill: var(--free); stroke: var(--free-line); stroke-dasharray: 3 2; }
.train-plan .held { fill: var(--held); stroke: var(--held-line); }
.train-plan .excluded { fill: var(--out); stroke: var(--out-line); }
.train-plan .part { fill: var(--free); }
.train-plan .share { fill: var(--used); }
.train-plan .other { fill: var(--held); }
.train-plan .hatch { fill: url(#train-plan-hatch); pointer-events: none; }
.train-plan .hatch-line { stroke: var(--out-line); stroke-width: 1; }
.train-plan .idle { fill: var(--dim); font-weight: normal; }
.train-plan .accent { fill: var(--used-line); }
.train-plan .first-key { stroke: var(--first); stroke-width: 2; }
.train-plan .first { fill: none; stroke: var(--first); stroke-width: 2; pointer-events: none; }
</style>
<defs><pattern id="train-plan-hatch" width="6" height="6" patternUnits="userSpaceOnUse"
patternTransform="rotate(45)"><path class="hatch-line" d="M 0 0 V 6"/></pattern></defs>
)svg";

std::string_view class_of(SlotState state) {
  switch (state) {
    case SlotState::used:
      return "used";
    case SlotState::free:
      return "free";
    case SlotState::held:
      return "held";
    case SlotState::excluded:
      return "excluded";
  }
  return "free";
}

// Whether a slot is used by ranks and held by others at once, or used only in part.
bool is_mixed(const SlotRun& run) {
  const bool is_taken = run.taken == Quantity::of(1) && run.held.is_zero();
  const bool is_held = run.held == Quantity::of(1) && run.taken.is_zero();
  const bool is_idle = run.state == SlotState::free || run.state == SlotState::excluded;
  return !is_taken && !is_held && !is_idle;
}

int part_of(int width, Quantity share) {
  return static_cast<int>(width * share.parts() / Quantity::scale);
}

class PictureSvg {
 public:
  PictureSvg(const ClusterPicture& picture, const PictureCaption& caption)
      : picture_(picture), caption_(caption) {}

  std::string draw() {
    measure();
    y_ = add_caption(svg_, caption_);
    for (const PictureRow& row : picture_.rows) add_row(row);
    add_legend();
    return svg_document({.name = "train-plan",
                         .style = plan_style,
                         .height = y_ + margin,
                         .title = caption_.title,
                         .description = description()},
                        svg_.take());
  }

 private:
  std::string description() const {
    return "Hosts as rows and their slots as cells. A cell shows the rank that uses it." +
           (caption_.subtitle.empty() ? "" : " " + caption_.subtitle);
  }

  // One cell width for all rows, so that slots are aligned.
  void measure() {
    for (const PictureRow& row : picture_.rows) {
      if (row.look.slots > most_cells) continue;
      for (const SlotRun& run : row.look.runs) {
        const int needed = text_width(cell_names(run, row.first_rank).size(), font) + 2 * label_gap;
        const int slots = run.state == SlotState::used ? run.slots : 1;
        cell_width_ = std::max(cell_width_, (needed - (slots - 1) * gap + slots - 1) / slots);
      }
    }
    cell_width_ = std::min(cell_width_, cells_room);
    cells_in_line_ = std::max(1, (cells_room + gap) / (cell_width_ + gap));
    for (const int even : {8, 4, 2})
      if (cells_in_line_ > even) {
        cells_in_line_ -= cells_in_line_ % even;
        break;
      }
    widen_cells();
  }

  // A few slots get wider cells.
  void widen_cells() {
    int most = 1;
    for (const PictureRow& row : picture_.rows)
      if (row.look.slots <= most_cells) most = std::max(most, row.look.slots);
    const int fitting = (cells_room + gap) / std::min(most, cells_in_line_) - gap;
    cell_width_ = std::max(cell_width_, std::min(fitting, widest_cell));
  }

  static std::string ranks_text(const PictureRow& row) {
    const int hosts = static_cast<int>(row.hosts.size());
    const std::string all = hosts == 1 ? "" : fmt::format("{} hosts, ", hosts);
    if (row.look.ranks == 0) return all + (row.look.is_left_out ? "excluded" : "no ranks");
    if (row.is_rest) return counted(fmt::format("{}", row.look.ranks), "rank");
    if (!row.first_rank) return all + counted(fmt::format("{}", row.look.ranks), "rank") + " each";
    const int ranks = row.look.ranks * hosts;
    return all + (ranks == 1 ? "rank " : "ranks ") + rank_range(*row.first_rank, ranks);
  }

  int lines_of(const PictureRow& row) const {
    if (row.is_rest || row.look.slots == 0) return 0;
    if (row.look.slots > most_cells) return 1;
    return (row.look.slots + cells_in_line_ - 1) / cells_in_line_;
  }

  void add_row(const PictureRow& row) {
    const int lines = lines_of(row);
    std::string remarks;
    if (row.look.slots > most_cells)
      remarks = fmt::format("{} slots, drawn in proportion", row.look.slots);
    for (const std::string& remark : row_remarks(row))
      remarks += (remarks.empty() ? "" : ", ") + remark;
    const int cells = lines == 0 ? 0 : lines * (cell_height + gap) - gap;
    const int remark_height = remarks.empty() ? 0 : line_height + (lines == 0 ? 0 : 4);
    const int inside = std::max(cells + remark_height, 2 * line_height);
    const Box card{margin, y_, page_width - 2 * margin, inside + 2 * padding};
    svg_.begin_group("row", fmt::format("data-hosts=\"{}\"", row.hosts.size()), {});
    if (row.hosts.size() > 1)
      for (const int step : {2, 1})
        svg_.add_box(
            "behind",
            {card.x + step * behind_step, card.y + step * behind_step, card.width, card.height},
            corner + 4);
    svg_.add_box("card", card, corner + 4);
    const int top = y_ + padding;
    const bool is_idle = row.look.ranks == 0;
    if (!is_idle) svg_.add_box("accent", {card.x, card.y + corner, 4, card.height - 2 * corner}, 2);
    svg_.add_text(is_idle ? "host idle" : "host", label_x, top + font + 1,
                  row_label(row, columns_in(label_room, font)));
    svg_.add_text("small", label_x, top + font + line_height + 1,
                  shortened(ranks_text(row), columns_in(label_room, small_font)));
    if (lines > 0) add_slots(row, top);
    if (!remarks.empty())
      svg_.add_text("remark", cells_x, top + (lines == 0 ? 0 : cells + 4) + small_font + 1,
                    shortened(remarks, columns_in(cells_room, small_font)));
    svg_.end_group();
    y_ += card.height + between_cards + (row.hosts.size() > 1 ? 2 * behind_step : 0);
  }

  void add_slots(const PictureRow& row, int top) {
    if (row.look.slots > most_cells) return add_stretches(row, top);
    for (const SlotRun& run : row.look.runs) {
      if (run.state != SlotState::used) {
        SlotRun one = run;
        one.slots = 1;
        for (; one.first_slot < run.first_slot + run.slots; ++one.first_slot)
          add_cells(row, one, top);
      } else {
        add_cells(row, run, top);
      }
    }
  }

  // The cells of one rank or one slot: one in each line that it covers.
  void add_cells(const PictureRow& row, const SlotRun& run, int top) {
    SlotRun piece = run;
    const int end = run.first_slot + run.slots;
    for (int slot = run.first_slot; slot < end; slot += piece.slots) {
      const int line = slot / cells_in_line_;
      const int column = slot % cells_in_line_;
      piece.first_slot = slot;
      piece.slots = std::min(end - slot, cells_in_line_ - column);
      add_cell(row, piece,
               {cells_x + column * (cell_width_ + gap), top + line * (cell_height + gap),
                piece.slots * (cell_width_ + gap) - gap, cell_height});
    }
  }

  void add_cell(const PictureRow& row, const SlotRun& run, const Box& box) {
    svg_.begin_group("slot", {}, tooltip(row, run));
    const std::string slots = fmt::format("data-slots=\"{}\"", run.slots);
    svg_.add_box(fmt::format("cell {}{}", class_of(run.state), is_mixed(run) ? " part" : ""), box,
                 corner, slots);
    if (is_mixed(run)) add_shares(run, box);
    if (run.state == SlotState::excluded) svg_.add_box("hatch", box, corner);
    const bool is_first = row.first_rank == 0 && run.rank_count > 0 && run.first_rank == 0;
    if (is_first) svg_.add_box("first", {box.x, box.y, box.width, box.height}, corner);
    const std::string label = cell_names(run, row.first_rank);
    if (!label.empty())
      svg_.add_text("label", box.x + box.width / 2, box.y + box.height / 2 + 5,
                    shortened(label, columns_in(box.width - 2, font)), Anchor::middle);
    svg_.end_group();
  }

  // The shares of ranks and others in a slot, from the left.
  void add_shares(const SlotRun& run, const Box& box) {
    const int inner = box.width - 2;
    const int taken = part_of(inner, run.taken);
    const int held = std::min(inner - taken, part_of(inner, run.held));
    if (taken > 0) svg_.add_box("share", {box.x + 1, box.y + 1, taken, box.height - 2}, corner - 1);
    if (held > 0)
      svg_.add_box("other", {box.x + 1 + taken, box.y + 1, held, box.height - 2}, corner - 1);
  }

  std::string tooltip(const PictureRow& row, const SlotRun& run) const {
    const int last = run.first_slot + run.slots - 1;
    std::string text = run.slots == 1 ? fmt::format("slot {}", run.first_slot)
                                      : fmt::format("slots {}-{}", run.first_slot, last);
    if (row.hosts.size() > 1) text = row.hosts.front() + ", " + text;
    if (run.state == SlotState::free) return text + ": free";
    if (run.state == SlotState::excluded) return text + ": excluded";
    if (run.rank_count > 0 && row.first_rank)
      text +=
          fmt::format(": rank {}", rank_range(*row.first_rank + run.first_rank, run.rank_count));
    for (const int holder : run.holders)
      text += fmt::format(": held by {}", picture_.holders[static_cast<std::size_t>(holder)]);
    return text;
  }

  // A host with too many slots for cells: groups of slots, in proportion.
  void add_stretches(const PictureRow& row, int top) {
    const std::vector<SlotRun> runs = coarse_runs(row.look, most_stretches);
    std::vector<std::size_t> least;
    least.reserve(runs.size());
    for (const SlotRun& run : runs)
      least.push_back(static_cast<std::size_t>(
          text_width(cell_names(run, row.first_rank).size(), font) + 2 * label_gap + gap));
    const auto widths = share_columns(runs, least, std::size_t{cells_room} + gap);
    if (widths.empty()) {
      svg_.add_text("remark", cells_x, top + small_font + 1,
                    fmt::format("{} slots, in too many stretches to draw", row.look.slots));
      return;
    }
    int x = cells_x;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const int width = static_cast<int>(widths[i]);
      add_cell(row, runs[i], {x, top, width - gap, cell_height});
      x += width;
    }
  }

  bool shows(SlotState state) const {
    return std::any_of(picture_.rows.begin(), picture_.rows.end(), [state](const PictureRow& row) {
      return std::any_of(row.look.runs.begin(), row.look.runs.end(),
                         [state](const SlotRun& run) { return run.state == state; });
    });
  }

  void add_legend() {
    SvgLegend legend(y_ + 6);
    if (shows(SlotState::used)) add_key(legend, "used", "rank", "0");
    add_key(legend, "used first-key", "rank 0, the rendezvous", "");
    if (shows(SlotState::free)) add_key(legend, "free", "free", "");
    if (shows(SlotState::excluded)) add_key(legend, "excluded", "excluded", "");
    const std::size_t named = std::min(picture_.holders.size(), most_holders_named);
    for (std::size_t i = 0; i < named; ++i)
      add_key(legend, "held", "held by " + picture_.holders[i], holder_mark(static_cast<int>(i)));
    if (picture_.holders.size() > named)
      add_key(legend, "held", fmt::format("{} other holders", picture_.holders.size() - named), "");
    y_ = legend.bottom();
  }

  void add_key(SvgLegend& legend, std::string_view css_class, const std::string& words,
               const std::string& mark) {
    const Box box = legend.add_words(svg_, words);
    svg_.add_box(fmt::format("key {}", css_class), box, corner - 2);
    if (css_class == "excluded") svg_.add_box("hatch", box, corner - 2);
    if (!mark.empty())
      svg_.add_text("label", box.x + box.width / 2, box.y + box.height / 2 + 5, mark,
                    Anchor::middle);
  }

  const ClusterPicture& picture_;
  const PictureCaption& caption_;
  SvgWriter svg_;
  int y_ = 0;  // position of the next element
  int cell_width_ = least_cell;
  int cells_in_line_ = 1;
};

}  // namespace

std::string picture_to_svg(const ClusterPicture& picture, const PictureCaption& caption) {
  return PictureSvg(picture, caption).draw();
}

}  // namespace train
