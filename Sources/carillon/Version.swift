import CVersion

/// What this build calls itself.
enum Version {
    /// The newest release of CHANGELOG.md.
    static let number = "0.1.0"

    /// With the commit, if the build knows it.
    static var text: String {
        let commit = String(cString: carillon_commit)
        return commit.isEmpty ? number : "\(number) (\(commit))"
    }
}
