// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/picture/cluster_picture.hpp"
#include "launcher/picture/metric_chart.hpp"

namespace train {

// What the page of a task shows. Texts are as they come from outside: the page escapes them.

/// A named value of the head.
struct ReportFact {
  std::string name;
  std::string value;
  bool is_code = false;  ///< a command or path, in a monospaced font
};

/// How a task is, as its page shows it.
enum class ReportOutlook { unfinished, good, bad };

/// The top of the page.
struct ReportHead {
  std::string name;
  std::string id;
  std::string state;
  ReportOutlook outlook = ReportOutlook::unfinished;
  std::string ending;               ///< a sentence: how it has ended and why, or how it is
  std::vector<std::string> next;    ///< commands that show more, or go on
  std::string culprit;              ///< "rank 3 on node02"; empty: no rank has failed first
  std::vector<std::string> errors;  ///< the last lines of stderr of the culprit
  std::vector<ReportFact> facts;
};

/// A column of a table.
struct ReportColumn {
  std::string name;
  bool is_number = false;
};

/// A cell of a table.
struct ReportCell {
  std::string text;
  std::optional<double> key = {};  ///< sorts the rows, if the text does not
  std::string target = {};         ///< the id of another part of the page, which it links to
};

/// A table that the reader can sort.
struct ReportTable {
  std::string caption;
  std::vector<ReportColumn> columns;
  std::vector<std::vector<ReportCell>> rows;
  std::string remark = {};  ///< below it: what is left out
};

/// A stretch of time, in milliseconds since the Unix epoch.
struct TimeBar {
  enum class Kind {
    queued,
    starting,
    running,
    stopping,
    succeeded,
    stopped,
    failed,
    // Of the start of a host:
    connecting,
    logging_in,
    agent,
    context,
    checking,
  };
  Kind kind = Kind::running;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string words;                         ///< "running, 12 s"
  bool ends_in_failure = false;              ///< it has a mark at its end
  std::optional<std::int64_t> started = {};  ///< until then it is drawn as starting
};

/// Bars below a name. Bars that overlap get lanes of their own.
struct TimeRow {
  std::string name;
  std::string remark = {};
  std::vector<TimeBar> bars;
};

/// Rows on one time axis. It begins with the first bar.
struct TimeLine {
  std::vector<TimeRow> rows;
  std::string remark = {};  ///< what is left out
};

/// A line that a rank has written.
struct ReportLine {
  enum class Source { out, err, note };  ///< a note is of train
  Source source = Source::out;
  std::string clock;  ///< "11-24 15:50:01", always of the same length
  std::string text;
};

/// The last lines of one rank, in the order of time.
struct ReportLog {
  std::optional<int> trial;  ///< nothing: the task has one trial
  int rank = 0;
  std::string host;            ///< empty: not known
  std::string ended;           ///< "exit 1"; empty: not known
  bool is_culprit = false;     ///< it gets more room than others
  std::uint64_t left_out = 0;  ///< bytes before the first line
  std::string command;         ///< prints all
  std::vector<ReportLine> lines;
};

/// The id of the part of the page that has the log of this rank; `trial` as in `ReportLog`.
std::string log_id(std::optional<int> trial, int rank);

/// A page. Empty parts are left out.
struct TaskReport {
  ReportHead head;
  TimeLine time_line;
  ReportTable events;
  std::string start_heading;
  TimeLine start;  ///< of the hosts of the last attempt
  ReportTable starts;
  std::optional<ClusterPicture> placement;
  ReportTable ranks;
  std::vector<MetricChart> metrics;
  std::string metrics_remark;
  std::vector<MetricChart> usage;
  ReportTable trials;
  std::string experiment;                ///< YAML
  std::vector<std::string> environment;  ///< names
  std::vector<ReportLog> logs;
  std::string logs_remark;
  std::string made;  ///< "train 0.1, 2026-11-24 15:50:01"
};

}  // namespace train
