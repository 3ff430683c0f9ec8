def kept(path, mechanism, text):
    return text
