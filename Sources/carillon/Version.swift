import CVersion

/// The version of this build.
enum Version {
    /// The number of the newest release in CHANGELOG.md.
    static let number = "0.1.0"

    /// The version with the commit, if the build knows it.
    static var text: String {
        let commit = String(cString: carillon_commit)
        return commit.isEmpty ? number : "\(number) (\(commit))"
    }
}
