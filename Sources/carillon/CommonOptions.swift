import ArgumentParser
import Foundation
import Service

/// What every subcommand takes.
struct CommonOptions: ParsableArguments {
    @Option(help: "The folder that holds everything the service keeps (or CARILLON_DATA).")
    var data: String?

    @Flag(help: "Print one JSON object per line on standard output, and nothing else.")
    var json = false

    /// The folder that is named; or else the default one, or the one of a service that was installed on this machine, if
    /// that alone has a running service.
    var folder: DataFolder {
        if let name = data ?? ProcessInfo.processInfo.environment["CARILLON_DATA"] { return DataFolder(name) }
        let (here, installed) = (DataFolder(Settings.defaultDataFolder), DataFolder(Self.installedFolder))
        let manager = FileManager.default
        // One that belongs to another user is meant as well, and the error says so.
        let isInstalled =
            !manager.fileExists(atPath: here.descriptionFile)
            && (manager.fileExists(atPath: installed.descriptionFile) || installed.isClosedToThisUser)
        return isInstalled ? installed : here
    }

    /// Where a packaged service keeps its data.
    private static let installedFolder = "/var/lib/carillon"

    /// The management API of the service that runs on the folder, or of the one that the environment names.
    func management() throws -> ManagementClient { try ManagementClient(folder) }

    /// The service that runs on the folder.
    func runningService() throws -> RunningService { try RunningService(folder) }
}
