import ArgumentParser
import CommandSupport
import Foundation
import HTTPAPIClient
import Service

/// The options of every subcommand.
struct CommonOptions: ParsableArguments {
    @Option(help: "The folder that holds everything the service keeps (or CARILLON_DATA).")
    var data: String?

    @Flag(help: "Print one JSON object per line on standard output, and nothing else.")
    var json = false

    /// The folder that an option or the environment names. If they name none: the installed service's folder, if only
    /// that service is running, and otherwise the default folder.
    var folder: DataFolder {
        // An empty variable counts as none, as for CARILLON_MANAGEMENT_URL: it would be the present folder.
        let variable = ProcessInfo.processInfo.environment["CARILLON_DATA"].flatMap { $0.isEmpty ? nil : $0 }
        if let name = data ?? variable { return DataFolder(name) }
        let (here, installed) = (DataFolder(Settings.defaultDataFolder), DataFolder(Self.installedFolder))
        let manager = FileManager.default
        // A folder that this user may not open counts too, so that the error says that.
        let isInstalled =
            !manager.fileExists(atPath: here.descriptionFile)
            && (manager.fileExists(atPath: installed.descriptionFile) || installed.isClosedToThisUser)
        return isInstalled ? installed : here
    }

    /// The data folder of a service that a package installed.
    private static let installedFolder = "/var/lib/carillon"

    /// The management API of the service with this folder, or of the service that the environment names.
    /// - Parameter isPatient: whether to wait for a service that is starting.
    func management(isPatient: Bool = true) throws -> APIClient {
        try APIClient.management(folder, isPatient: isPatient)
    }

    var output: Output { Output(isJSON: json) }

    /// The running service with this folder.
    func runningService() throws -> RunningService { try RunningService(folder) }
}
