// SPDX-License-Identifier: Apache-2.0
#include "cli/record/task_keeper.hpp"

#include <utility>

#include "cli/record/task_hosts.hpp"

namespace train {

TaskKeeper::TaskKeeper(TaskRecorder& recorder, std::shared_ptr<SqliteTaskStore> store,
                       std::string task_id, Print print)
    : recorder_(recorder),
      store_(std::move(store)),
      id_(std::move(task_id)),
      print_(std::move(print)) {}

void TaskKeeper::keep_request(const TaskRequest& request, std::function<void()> on_done) {
  recorder_.run_first([store = store_, id = id_,
                       text = encode_request(request)] { return store->keep_request(id, text); },
                      [this, on_done = std::move(on_done)](const Result<void>& kept) {
                        report_unkept("no other launcher can resume this task", kept);
                        on_done();
                      });
}

void TaskKeeper::keep_program() {
  recorder_.run_first([store = store_, id = id_] { return store->keep_program(id); },
                      [this](const Result<void>& kept) {
                        report_unkept("only the same build of train can go on with this task",
                                      kept);
                      });
}

void TaskKeeper::keep_context(std::shared_ptr<const ArchivedContext> context) {
  recorder_.run_first(
      [store = store_, id = id_, context = std::move(context)] {
        return store->keep_context(id, context->archive);
      },
      [this](const Result<void>& kept) { report_unkept("the context is read anew", kept); });
}

void TaskKeeper::keep_unsettled(const std::set<int>& hosts) {
  recorder_.run_first(
      [store = store_, id = id_, hosts] { return keep_unsettled_hosts(*store, id, hosts); },
      [this](const Result<void>& kept) {
        if (!kept) print_(terminal_text("{}", terminal_text(kept.error())));
      });
}

void TaskKeeper::report_unkept(std::string_view what_follows, const Result<void>& kept) {
  if (!kept)
    print_(terminal_text("{} if this launcher dies: {}", what_follows,
                         kept.error().diagnostics.front().message));
}

}  // namespace train
