import APNSProvider

/// How far a batch is, in words.
struct BatchProgressLine: CustomStringConvertible {
    let description: String

    /// - Parameters:
    ///   - read: in bytes of the batch.
    ///   - total: in bytes of the batch; nil if that is not known: then there are the counts alone.
    ///   - time: since it began.
    init(_ progress: SendProgress, read: Int, total: Int?, after time: Duration) {
        let seconds = max(0.001, time / .seconds(1))
        let rate = Int((Double(progress.ended) / seconds).rounded())
        let counts = "\(progress.ended) sent, \(progress.failed) failed, \(rate)/s"
        guard let total, total > 0, progress.taken > 0 else {
            description = counts
            return
        }
        // What is read, less what is under way.
        let share = min(1, Double(read) / Double(total) * Double(progress.ended) / Double(progress.taken))
        description = "\(ProgressBar.bar(share)) \(Int(share * 100)) %  \(counts)"
    }
}
