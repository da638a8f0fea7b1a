import ArgumentParser
import Foundation
import Service

/// The options of every subcommand.
struct CommonOptions: ParsableArguments {
    @Option(help: "The folder that holds everything the service keeps (or CARILLON_DATA).")
    var data: String?

    @Flag(help: "Print one JSON object per line on standard output, and nothing else.")
    var json = false

    /// The folder that an option or the environment names. Otherwise the default folder, or that of the installed
    /// service if only the installed service is running.
    var folder: DataFolder {
        if let name = data ?? ProcessInfo.processInfo.environment["CARILLON_DATA"] { return DataFolder(name) }
        let (here, installed) = (DataFolder(Settings.defaultDataFolder), DataFolder(Self.installedFolder))
        let manager = FileManager.default
        // A folder that this user may not open counts as well: the error then says so.
        let isInstalled =
            !manager.fileExists(atPath: here.descriptionFile)
            && (manager.fileExists(atPath: installed.descriptionFile) || installed.isClosedToThisUser)
        return isInstalled ? installed : here
    }

    /// Where a packaged service keeps its data.
    private static let installedFolder = "/var/lib/carillon"

    /// The management API of the service on the folder, or of the service that the environment names.
    func management() throws -> ManagementClient { try ManagementClient(folder) }

    /// The running service on the folder.
    func runningService() throws -> RunningService { try RunningService(folder) }
}
