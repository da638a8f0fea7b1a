import Service

extension ServiceDescription {
    /// The service that runs with this folder. Waits for one that is starting.
    static func find(_ folder: DataFolder) throws -> ServiceDescription {
        // Nobody can see whether another user's service is starting.
        if folder.isClosedToThisUser { return try read(folder) }
        switch try ServerStart(lockFile: folder.lockFile).find({ try readIfPresent(folder) }) {
        case .running(let description): return description
        case .absent: throw notRunning(folder)
        case .unready: throw ServerStart.unready("The service", folder.path)
        }
    }
}
