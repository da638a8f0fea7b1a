import CVersion

/// The version of this build.
package enum Version {
    /// The number of the newest release in CHANGELOG.md.
    package static let number = "0.2.0"

    /// The version with the commit, if the build knows it.
    package static var text: String {
        let commit = String(cString: carillon_commit)
        return commit.isEmpty ? number : "\(number) (\(commit))"
    }
}
