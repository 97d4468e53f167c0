// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/picture_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/terminal_text.hpp"
#include "launcher/picture/cells.hpp"
#include "launcher/picture/columns.hpp"

namespace train {
namespace {

constexpr std::size_t most_bar_columns = 48;

// Text and its width in columns: control sequences have none.
struct Drawn {
  std::string text;
  std::size_t columns = 0;

  bool empty() const { return text.empty(); }
};

class PictureText {
 public:
  PictureText(const ClusterPicture& picture, const TextOptions& options)
      : picture_(picture),
        options_(options),
        column_(picture.column.empty() ? "RANKS" : picture.column),
        width_(static_cast<std::size_t>(std::max(40, options.width))) {}

  std::string draw() {
    measure();
    add_line({fmt::format("{}  {}  {}", padded("HOST", label_width_), padded(column_, rank_width_),
                          "SLOTS"),
              0});
    for (const PictureRow& row : picture_.rows) add_row(row);
    add_legend();
    return std::move(text_);
  }

 private:
  void measure() {
    rank_width_ = column_.size();
    const std::size_t widest_label = std::min<std::size_t>(32, width_ * 3 / 10);
    for (const PictureRow& row : picture_.rows) {
      label_width_ = std::max(label_width_, count_columns(row_label(row, widest_label)));
      rank_width_ = std::max(rank_width_, ranks_text(row).size());
    }
    room_ = width_ - label_width_ - rank_width_ - 4;
    for (const PictureRow& row : picture_.rows) {
      const std::size_t inside = cell_width(row);
      if (cells_columns(row, inside) <= room_) cell_width_ = std::max(cell_width_, inside);
    }
  }

  std::string ranks_text(const PictureRow& row) const {
    if (!picture_.column.empty()) return row.figure.empty() ? "-" : row.figure;
    if (row.look.ranks == 0) return "-";
    if (row.is_rest) return fmt::format("{} more", row.look.ranks);
    if (!row.first_rank) return fmt::format("{} each", row.look.ranks);
    return rank_range(*row.first_rank, row.look.ranks * static_cast<int>(row.hosts.size()));
  }

  static bool is_one_cell(const SlotRun& run) { return run.state == SlotState::used; }

  // The minimum width of one slot so that every label fits in its cell.
  static std::size_t cell_width(const PictureRow& row) {
    std::size_t width = 1;
    for (const SlotRun& run : row.look.runs) {
      const std::size_t slots = is_one_cell(run) ? static_cast<std::size_t>(run.slots) : 1;
      const std::size_t label = cell_label(run, row.first_rank).size();
      width = std::max(width, label / slots);
    }
    return width;
  }

  static std::size_t cells_columns(const PictureRow& row, std::size_t inside) {
    return static_cast<std::size_t>(row.look.slots) * (inside + 1) + 1;
  }

  static Paint paint_of(const SlotRun& run) {
    if (run.state == SlotState::used) return Paint::used;
    return run.state == SlotState::held ? Paint::held : Paint::faint;
  }

  void add_cell(Drawn& drawn, const SlotRun& run, const std::string& inside) const {
    drawn.text += painted(inside, paint_of(run), options_) + painted("|", Paint::faint, options_);
    drawn.columns += inside.size() + 1;
  }

  static std::string centred(const std::string& label, std::size_t columns) {
    const std::size_t left = (columns - label.size()) / 2;
    return std::string(left, ' ') + label + std::string(columns - label.size() - left, ' ');
  }

  Drawn cells_of(const PictureRow& row) const {
    Drawn drawn{painted("|", Paint::faint, options_), 1};
    const std::size_t inside =
        cells_columns(row, cell_width_) <= room_ ? cell_width_ : cell_width(row);
    for (const SlotRun& run : row.look.runs) {
      const std::string label = cell_label(run, row.first_rank);
      const auto slots = static_cast<std::size_t>(run.slots);
      if (is_one_cell(run)) {
        const std::size_t columns = slots * (inside + 1) - 1;
        add_cell(drawn, run,
                 slots == 1 ? fmt::format("{:>{}}", label, columns) : padded(label, columns));
      } else {
        for (std::size_t i = 0; i < slots; ++i)
          add_cell(drawn, run, fmt::format("{:>{}}", label, inside));
      }
    }
    return drawn;
  }

  static std::string count_text(const HostLook& look) {
    return fmt::format(" {} slots", look.slots);
  }

  // A proportional bar: "|0-95            |............|".
  Drawn bar_of(const PictureRow& row) const {
    constexpr std::size_t most_runs = 12;
    const std::vector<SlotRun> runs = coarse_runs(row.look, most_runs);
    std::vector<std::size_t> least;
    least.reserve(runs.size());
    std::vector<std::string> labels;
    for (const SlotRun& run : runs) {
      labels.push_back(cell_label(run, row.first_rank));
      least.push_back(labels.back().size() + 1);
    }
    const std::size_t room = std::min(room_ - count_text(row.look).size(), most_bar_columns) - 1;
    const std::vector<std::size_t> columns = share_columns(runs, least, room);
    if (columns.empty()) return {};
    Drawn drawn{painted("|", Paint::faint, options_), 1};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::size_t inside = columns[i] - 1;
      const bool is_mark = runs[i].state != SlotState::used && labels[i].size() == 1;
      add_cell(drawn, runs[i],
               is_mark ? std::string(inside, labels[i].front()) : centred(labels[i], inside));
    }
    return drawn;
  }

  Drawn words_of(const HostLook& look) const {
    int slots[4] = {};
    for (const SlotRun& run : look.runs) slots[static_cast<int>(run.state)] += run.slots;
    std::string text;
    if (slots[0] > 0 || slots[2] == 0) text = fmt::format("{} of {} used", slots[0], look.slots);
    if (slots[2] > 0)
      text += text.empty() ? fmt::format("{} of {} held", slots[2], look.slots)
                           : fmt::format(", {} held", slots[2]);
    if (slots[3] > 0) text += fmt::format(", {} {}", slots[3], picture_.left_out);
    return {text, text.size()};
  }

  Drawn slots_of(const PictureRow& row) const {
    if (row.is_rest || row.look.slots == 0) return {};
    if (cells_columns(row, cell_width(row)) <= room_) return cells_of(row);
    Drawn bar = bar_of(row);
    if (bar.empty()) return words_of(row.look);
    const std::string count = count_text(row.look);
    return {bar.text + count, bar.columns + count.size()};
  }

  void add_row(const PictureRow& row) {
    Drawn line{fmt::format("{}  {}  ", padded(row_label(row, label_width_), label_width_),
                           padded(ranks_text(row), rank_width_)),
               label_width_ + rank_width_ + 4};
    const Drawn slots = slots_of(row);
    line.text += slots.text;
    line.columns += slots.columns;
    bool is_first = true;
    std::vector<std::string> remarks = row_remarks(row);
    if (row.hosts.size() > 1 && !row.is_rest)
      remarks.insert(remarks.begin(), fmt::format("{} hosts", row.hosts.size()));
    for (const std::string& piece : remarks) {
      const std::string remark = escaped(piece);
      const std::string before = !is_first ? ", " : slots.empty() ? "" : "  ";
      const std::size_t room = width_ - std::min(width_, line.columns + before.size());
      const std::string shown = is_first && slots.empty() ? shortened(remark, room) : remark;
      if (count_columns(shown) > room) continue;
      line.text += before + painted(shown, Paint::faint, options_);
      line.columns += before.size() + count_columns(shown);
      is_first = false;
    }
    add_line(std::move(line));
  }

  void add_line(Drawn line) {
    line.text.erase(line.text.find_last_not_of(' ') + 1);
    text_ += line.text + "\n";
  }

  bool shows(SlotState state) const {
    return std::any_of(picture_.rows.begin(), picture_.rows.end(), [state](const PictureRow& row) {
      return std::any_of(row.look.runs.begin(), row.look.runs.end(),
                         [state](const SlotRun& run) { return run.state == state; });
    });
  }

  bool shows_mark(std::string_view mark) const {
    return std::any_of(picture_.rows.begin(), picture_.rows.end(), [&](const PictureRow& row) {
      return std::any_of(row.look.runs.begin(), row.look.runs.end(), [&](const SlotRun& run) {
        return cell_label(run, row.first_rank).find(mark) != std::string::npos;
      });
    });
  }

  void add_legend() {
    std::vector<std::string> parts;
    if (shows(SlotState::free)) parts.emplace_back(". free");
    if (shows(SlotState::excluded)) parts.push_back("- " + picture_.left_out);
    if (shows_mark("*")) parts.emplace_back("* a rank");
    if (shows_mark("+.")) parts.emplace_back("+. room for more");
    std::string line;
    for (const std::string& part : parts) line += (line.empty() ? "" : "   ") + part;
    const auto add = [&](const std::string& text) {
      text_ += painted(shortened(text, width_), Paint::faint, options_) + "\n";
    };
    if (!line.empty()) add(line);
    const std::size_t named = std::min(picture_.holders.size(), options_.holders);
    for (std::size_t i = 0; i < named; ++i)
      add(fmt::format("{} held by {}", holder_mark(static_cast<int>(i)),
                      escaped(picture_.holders[i])));
    if (picture_.holders.size() > named)
      add(fmt::format("{}... held by {} others", holder_mark(static_cast<int>(named)),
                      picture_.holders.size() - named));
  }

  const ClusterPicture& picture_;
  const TextOptions& options_;
  const std::string column_;
  std::size_t width_;
  std::size_t room_ = 0;         // columns for slots and the remarks beside them
  std::size_t label_width_ = 4;  // HOST
  std::size_t rank_width_ = 0;   // RANKS, or another figure
  std::size_t cell_width_ = 1;
  std::string text_;
};

const char* code_of(Paint paint) {
  switch (paint) {
    case Paint::title:
      return "1";
    case Paint::used:
      return "30;42";
    case Paint::held:
      return "30;43";
    case Paint::faint:
      return "2";
    case Paint::warning:
      return "33";
    case Paint::advice:
      return "36";
  }
  return "0";
}

}  // namespace

std::string painted(const std::string& text, Paint paint, const TextOptions& options) {
  return options.color ? fmt::format("\x1b[{}m{}\x1b[0m", code_of(paint), text) : text;
}

std::string picture_to_text(const ClusterPicture& picture, const TextOptions& options) {
  return PictureText(picture, options).draw();
}

}  // namespace train
