package import PrivateFiles
package import Storage

extension FolderLock {
    /// Lets only one provider server at a time use a folder.
    package static func ofProviderServer(_ folder: String) throws(StoreError) -> FolderLock {
        try FolderLock(folder, file: fileOfProviderServer, of: "provider server")
    }

    /// The file that a provider server locks while it uses a folder.
    package static func fileOfProviderServer(in folder: String) -> String { folder + "/" + fileOfProviderServer }

    private static let fileOfProviderServer = "provider.lock"
}
