import APNSProvider

/// A batch's progress as text.
struct BatchProgressLine: CustomStringConvertible {
    let description: String

    /// - Parameters:
    ///   - read: the bytes of the batch that were read.
    ///   - total: the bytes of the whole batch; nil if that is not known. Then the text has only counts.
    ///   - time: the time since the beginning.
    init(_ progress: SendProgress, read: Int, total: Int?, after time: Duration) {
        let seconds = max(0.001, time / .seconds(1))
        // fits: a count, divided by a millisecond at least
        let rate = Int((Double(progress.ended) / seconds).rounded())
        let counts = "\(progress.ended) sent, \(progress.failed) failed, \(rate)/s"
        guard let total, total > 0, progress.taken > 0 else {
            description = counts
            return
        }
        // The share that was read, without the notifications that have no answer yet.
        let share = min(1, Double(read) / Double(total) * Double(progress.ended) / Double(progress.taken))
        description = "\(ProgressBar.bar(share)) \(Int(share * 100)) %  \(counts)"  // fits: at most 100
    }
}
