// session.packed_weights_cache: the file of the folder that holds the packed weights of a session.
#pragma once
#include <memory>

#include "base/log.h"
#include "memory/packed_cache.h"
#include "memory/shared_blocks.h"
#include "session/model_source.h"
#include "session/options.h"

namespace retort {

/// Opens the file for a model that was read from `source`, or a new one. Null: the options name no folder, or weights
/// cannot be kept, of which the log says why. A folder that was made for the file and stays empty is removed with the
/// result. Throws invalid_argument if the folder cannot be made. `weights` and `logger` must outlive the result.
std::shared_ptr<PackedCache> open_packed_cache(const SessionOptions& options, const ModelSource& source,
                                               SharedBlocks& weights, const Logger& logger);

}  // namespace retort
