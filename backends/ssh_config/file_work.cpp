// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/file_work.hpp"

#include <fmt/format.h>

#include <utility>

namespace train {

void FileWork::run(std::string what, std::function<void()> work,
                   std::function<void(Result<void>)> on_done) {
  const auto piece = pieces_.insert(pieces_.end(), {std::move(what), std::move(on_done), nullptr});
  const auto begun = thread_.run(std::move(work), [this, piece] {
    const auto told = std::move(piece->on_done);
    pieces_.erase(piece);
    if (told) told({});  // may destroy this object
  });
  const bool runs = begun.has_value();
  piece->deadline = loop_.after(runs ? nanoseconds(limit_) : nanoseconds(0), [this, piece, begun] {
    if (begun) return on_late(*piece);
    const auto told = std::move(piece->on_done);
    pieces_.erase(piece);
    told(begun);
  });
}

// The first piece is the one that hangs; the pieces behind it have not begun.
void FileWork::on_late(Piece& piece) {
  const auto told = std::exchange(piece.on_done, nullptr);
  const double seconds = static_cast<double>(limit_.count()) / 1000;
  told(fail(ErrorClass::host,
            fmt::format("{} takes longer than {:g} s", pieces_.front().what, seconds),
            "the disk, or the network file system, may hang: try it with ls"));
}

}  // namespace train
